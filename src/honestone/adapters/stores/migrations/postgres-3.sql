-- Rights by run. A runner may read the tables and write to none of them: it calls the functions below, which work with the rights of
-- the owner of the tables and look first at who asks. `session_user` is the login, whatever role it took on since.
alter table honestone.events add column writer text;
alter table honestone.replies add column writer text, add column run text collate "C";
alter table honestone.commits add column writer text;
comment on column honestone.replies.run is
    'The run in which a runner was given this reply, which counts in that run only; null: the writer may write to every table.';

-- Runs that a login has taken cases of, and what it took of their grants: it gives no more back.
create table honestone.worked (
    run text collate "C" not null,
    writer text not null,
    calls integer not null default 0,
    usd double precision not null default 0,
    primary key (run, writer)
);

create function honestone.stamp_writer() returns trigger language plpgsql as $$
begin
    new.writer := session_user;
    return new;
end
$$;
create trigger stamp_writer before insert on honestone.events for each row execute function honestone.stamp_writer();
create trigger stamp_writer before insert on honestone.replies for each row execute function honestone.stamp_writer();
create trigger stamp_writer before insert on honestone.commits for each row execute function honestone.stamp_writer();

-- Tables of the queue that an older version made; those that are made later have these columns.
alter table if exists honestone.runners
    add column if not exists login text,
    add column if not exists silence double precision not null default 0;

-- Whether the login works on a run that is not over.
create function honestone.works_on(wanted text) returns boolean
language sql stable security definer set search_path = pg_catalog, honestone, pg_temp as $$
    select exists (
        select from honestone.worked join honestone.runs on runs.id = worked.run
        where worked.run = wanted and worked.writer = session_user and runs.finished is null
    )
$$;

-- The arguments of a case that the login has in hand, of a run that is not over; null where there is none.
create function honestone.case_in_hand(wanted text, name text) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, honestone, pg_temp as $$
begin
    return (
        select jobs.args from honestone.runners
        join honestone.procrastinate_jobs jobs on jobs.worker_id = runners.id and jobs.status = 'doing'
        join honestone.runs on runs.id = jobs.queue_name and runs.finished is null
        where runners.login = session_user and jobs.queue_name = wanted and jobs.args ->> 'case' = name
        limit 1
    );
end
$$;

-- An event of a case that the login has in hand, once an attempt; false: it is not added. `rest` is a JSON object without the keys that
-- say what it is about. Those are put at its end, where they are the last of their name, and the last counts. What an attempt cost
-- that another runner had put on record first (`duplicate`) is of a case that this one may not have any more.
create function honestone.add_event(
    wanted text, name text, kind text, number integer, refused text, rest bytea
) returns boolean
language plpgsql security definer set search_path = pg_catalog, honestone, pg_temp as $$
declare
    args jsonb;
    stamps text := '"type":' || to_json(kind);
    body bytea := substr(rest, 1, length(rest) - 1);
    document bytea;
    key bytea;
    added bigint;
begin
    if (kind = 'passed-by') <> (number is null) or (refused is not null and kind <> 'attempted') then
        return false;
    end if;
    if kind = 'duplicate' then
        if not honestone.works_on(wanted) then
            return false;
        end if;
    elsif kind in ('produced', 'attempted', 'passed-by') then
        args := honestone.case_in_hand(wanted, name);
        if args is null then
            return false;
        end if;
        stamps := stamps || ',"case":' || (args ->> 'json');
    else
        return false;
    end if;
    if number is not null then
        stamps := stamps || ',"attempt":' || number;
    end if;
    if refused is not null then
        stamps := stamps || ',"refused":' || to_json(refused);
    elsif kind <> 'duplicate' then
        key := substr(sha256(
            convert_to(kind || ' ' || coalesce(number::text, 'None') || ' ', 'UTF8') || decode(args ->> 'bytes', 'hex')
        ), 1, 16);
    end if;
    document := body || convert_to(case when length(body) > 1 then ',' else '' end || stamps || '}', 'UTF8');
    perform convert_from(document, 'UTF8')::json;
    insert into honestone.events (run, seq, data, once)
    select wanted, coalesce(max(seq), 0) + 1, document, key from honestone.events where run = wanted
    on conflict (run, once) where once is not null do nothing;
    get diagnostics added = row_count;
    return added > 0;
end
$$;

-- A reply for the runs that the login works on. 'late': there are more than `known`; 'over': the run is over, or is none of its own.
create function honestone.add_reply(
    wanted text, request text, who text, moment text, document bytea, known integer
) returns text
language plpgsql security definer set search_path = pg_catalog, honestone, pg_temp as $$
declare
    present text := to_char(clock_timestamp() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"+00:00"');
begin
    if not honestone.works_on(wanted) then
        return 'over';
    end if;
    if (select count(*) from honestone.replies where key = request and (run is null or run = wanted)) > known then
        return 'late';
    end if;
    insert into honestone.replies (key, judge, at, data, run)
    values (request, who, least(moment collate "C", present collate "C"), document, wanted);
    return 'added';
end
$$;

create function honestone.add_blob(name text, content bytea) returns void
language plpgsql security definer set search_path = pg_catalog, honestone, pg_temp as $$
begin
    if name <> 'sha256:' || encode(sha256(content), 'hex') and name not like 'version:sha256:%' then
        raise exception 'content is kept under its digest' using errcode = 'insufficient_privilege';
    end if;
    if not exists (
        select from honestone.worked join honestone.runs on runs.id = worked.run
        where worked.writer = session_user and runs.finished is null
    ) then
        raise exception 'permission denied: this login works on no run' using errcode = 'insufficient_privilege';
    end if;
    insert into honestone.blobs (digest, data) values (name, content) on conflict do nothing;
end
$$;

-- False where a limit would be passed. What is given back is at most what the login took, so what others took is never less.
create function honestone.add_grants(
    wanted text, more_calls integer, more_usd double precision, price double precision,
    most_calls integer, most_usd double precision
) returns boolean
language plpgsql security definer set search_path = pg_catalog, honestone, pg_temp as $$
declare
    mine honestone.worked;
    added bigint;
begin
    if not honestone.works_on(wanted) then
        return more_calls <= 0 and more_usd <= 0;
    end if;
    select * into strict mine from honestone.worked where run = wanted and writer = session_user for update;
    more_calls := greatest(more_calls, -mine.calls);
    more_usd := greatest(coalesce(nullif(more_usd, 'NaN'), 0), -mine.usd);
    update honestone.grants
    set calls = calls + more_calls, usd = usd + more_usd,
        dearest = greatest(dearest, coalesce(nullif(price, 'NaN'), 0))
    where run = wanted and calls + more_calls <= coalesce(most_calls, 2147483647)
        and usd + more_usd <= coalesce(most_usd, 'infinity'::float8);
    get diagnostics added = row_count;
    if added > 0 then
        update honestone.worked set calls = calls + more_calls, usd = usd + more_usd
        where run = wanted and writer = session_user;
    end if;
    return added > 0;
end
$$;

create function honestone.take_slot(line text, more double precision) returns double precision
language sql security definer set search_path = pg_catalog, honestone, pg_temp as $$
    insert into honestone.rates as known (account, at)
    values (line, extract(epoch from clock_timestamp())::float8 + more)
    on conflict (account) do update
    set at = greatest(known.at, extract(epoch from clock_timestamp())::float8) + more
    returning at - extract(epoch from clock_timestamp())::float8
$$;

-- The number of a transaction in its session: false where it is there already. Of its own sessions only.
create function honestone.count_commit(name text, counted bigint) returns boolean
language plpgsql security definer set search_path = pg_catalog, honestone, pg_temp as $$
declare
    added bigint;
begin
    insert into honestone.commits as known (session, number) values (name, counted)
    on conflict (session) do update set number = excluded.number, at = now()
    where known.number < excluded.number and known.writer is not distinct from session_user;
    get diagnostics added = row_count;
    return added > 0;
end
$$;

create function honestone.forget_commits(name text) returns void
language sql security definer set search_path = pg_catalog, honestone, pg_temp as $$
    delete from honestone.commits
    where (session = name and writer is not distinct from session_user) or at < now() - interval '7 days'
$$;

-- What a runner does with the queue, whose tables are made later. Each works for runners of the same login only.
create function honestone.is_own(runner bigint) returns boolean
language plpgsql stable security definer set search_path = pg_catalog, honestone, pg_temp as $$
begin
    return exists (select from honestone.runners where id = runner and login = session_user);
end
$$;

create function honestone.beat(runner bigint, card bytea, quiet double precision) returns bigint
language plpgsql security definer set search_path = pg_catalog, honestone, pg_temp as $$
declare
    present bigint;
begin
    update honestone.runners set at = clock_timestamp(), data = card, silence = least(quiet, 3600)
    where id = runner and login = session_user returning id into present;
    if present is not null then
        update honestone.procrastinate_workers set last_heartbeat = now() where id = present;
        return present;
    end if;
    insert into honestone.procrastinate_workers default values returning id into present;
    insert into honestone.runners (id, data, login, silence) values (present, card, session_user, least(quiet, 3600));
    return present;
end
$$;

create function honestone.leave(runner bigint) returns void
language plpgsql security definer set search_path = pg_catalog, honestone, pg_temp as $$
begin
    if honestone.is_own(runner) then
        delete from honestone.procrastinate_workers where id = runner;
        delete from honestone.runners where id = runner;
    end if;
end
$$;

-- As procrastinate_fetch_job does for one, which has locks between jobs besides: ours have none. A runner that was given up takes
-- nothing until its next heartbeat, which gives it another number.
create function honestone.take_cases(wanted text[], runner bigint, most integer)
returns table (id bigint, run text, name text, deaths integer, errors integer, rank integer)
language plpgsql security definer set search_path = pg_catalog, honestone, pg_temp as $$
#variable_conflict use_column
begin
    if not honestone.is_own(runner) or not exists (select from honestone.procrastinate_workers known where known.id = runner) then
        return;
    end if;
    return query
    with chosen as materialized (
        select jobs.id from honestone.procrastinate_jobs jobs
        where jobs.status = 'todo' and jobs.queue_name = any(wanted)
            and (jobs.scheduled_at is null or jobs.scheduled_at <= now())
        order by jobs.priority desc, jobs.id limit most for update skip locked
    ), taken as (
        update honestone.procrastinate_jobs as jobs set status = 'doing', worker_id = runner
        from chosen where jobs.id = chosen.id
        returning jobs.id, jobs.queue_name::text as run, jobs.args, jobs.attempts, jobs.priority
    ), noted as (
        insert into honestone.worked (run, writer) select distinct taken.run, session_user::text from taken
        on conflict do nothing
    )
    select taken.id, taken.run, taken.args ->> 'case', taken.attempts, (taken.args ->> 'errors')::integer, taken.priority
    from taken;
end
$$;

create function honestone.end_cases(jobs bigint[]) returns void
language plpgsql security definer set search_path = pg_catalog, honestone, pg_temp as $$
begin
    delete from honestone.procrastinate_jobs where id = any(jobs) and status = 'doing' and honestone.is_own(worker_id);
end
$$;

-- The manager's own way counts each as an attempt, as `sweep` does for a runner that died. Errors are counted apart from those.
create function honestone.give_back_case(job bigint, runner bigint, failures integer) returns void
language plpgsql security definer set search_path = pg_catalog, honestone, pg_temp as $$
begin
    update honestone.procrastinate_jobs set status = 'todo', args = args || jsonb_build_object('errors', failures)
    where id = job and worker_id = runner and status = 'doing' and honestone.is_own(runner);
end
$$;

-- Cases of runners that were silent for so long, and for as long as they announced themselves. Those that were lost `lost` times go to
-- the caller, which puts on record that they could not be run.
create function honestone.sweep(quiet double precision, lost integer)
returns table (id bigint, run text, name text, deaths integer)
language plpgsql security definer set search_path = pg_catalog, honestone, pg_temp as $$
#variable_conflict use_column
declare
    caller bigint;
    silent bigint[];
begin
    if not pg_try_advisory_xact_lock(hashtextextended('honestone sweep', 0))
        or clock_timestamp() - pg_postmaster_start_time() <= make_interval(secs => quiet) then
        return;
    end if;
    silent := array(
        select workers.id from honestone.procrastinate_workers workers
        left join honestone.runners known on known.id = workers.id
        where workers.last_heartbeat < now() - make_interval(secs => greatest(quiet, coalesce(known.silence, 0)))
    );
    select max(known.id) into caller from honestone.runners known
    where known.login = session_user and known.id <> all(silent);
    return query
    with stalled as (
        select jobs.id, jobs.attempts + 1 < lost as is_tried_again from honestone.procrastinate_jobs jobs
        where jobs.status = 'doing' and (jobs.worker_id is null or jobs.worker_id = any(silent))
        for update skip locked
    ), moved as (
        update honestone.procrastinate_jobs as jobs
        set status = case when is_tried_again then 'todo' else jobs.status::text end::honestone.procrastinate_job_status,
            attempts = jobs.attempts + is_tried_again::integer,
            scheduled_at = case when is_tried_again then now() else jobs.scheduled_at end,
            worker_id = case when is_tried_again then null else caller end
        from stalled where jobs.id = stalled.id
        returning jobs.id, jobs.queue_name::text as run, jobs.args, jobs.attempts, is_tried_again
    ), noted as (
        insert into honestone.worked (run, writer) select distinct moved.run, session_user::text from moved
        where not is_tried_again and caller is not null
        on conflict do nothing
    )
    select moved.id, moved.run, moved.args ->> 'case', moved.attempts from moved where not is_tried_again;
    delete from honestone.procrastinate_workers workers where workers.id = any(silent);
    delete from honestone.runners where not exists (
        select from honestone.procrastinate_workers workers where workers.id = runners.id
    );
end
$$;

-- A function may be called by everybody until that is taken back. docs/cluster.md says who may call which.
revoke execute on function
    honestone.works_on, honestone.case_in_hand, honestone.add_event, honestone.add_reply, honestone.add_blob,
    honestone.add_grants, honestone.take_slot, honestone.count_commit, honestone.forget_commits, honestone.is_own,
    honestone.beat, honestone.leave, honestone.take_cases, honestone.end_cases, honestone.give_back_case, honestone.sweep
from public;
