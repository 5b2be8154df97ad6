-- What all processes of a run have taken: `calls` were granted, `usd` was spent or is reserved. `at`: when the run began, in
-- seconds since 1970 by the clock of this server.
alter table honestone.grants
    alter column calls set default 0,
    add column usd double precision not null default 0,
    add column dearest double precision not null default 0,
    add column at double precision not null default extract(epoch from clock_timestamp());

-- The cases of a suite's run are rows of their own: one event with all of them had no bound on its size.
create table honestone.cases (
    run text collate "C" not null,
    number integer not null,
    id text collate "C" not null,
    data bytea not null,
    primary key (run, number)
);
create index cases_by_id on honestone.cases (run, md5(id));

-- What may be on record once in a run: an attempt's output, its judgement, that a case was passed by.
alter table honestone.events add column once bytea;
create unique index events_once on honestone.events (run, once) where once is not null;

-- For autoscalers: the cases that wait and those in hand, of runs that runners may take cases of. The tables of the queue are made
-- later, or never. It reads with the rights of the owner, so that whoever asks the view needs no right on the tables.
create function honestone.jobs_in(wanted text) returns bigint language plpgsql stable security definer set search_path = pg_catalog as $$
declare
    found bigint;
begin
    if to_regclass('honestone.procrastinate_jobs') is null or to_regclass('honestone.orders') is null then
        return 0;
    end if;
    execute 'select count(*) from honestone.procrastinate_jobs jobs
        join honestone.orders on orders.run = jobs.queue_name join honestone.runs on runs.id = orders.run
        where jobs.status::text = $1 and not orders.is_paused and runs.finished is null' into found using wanted;
    return found;
end
$$;
create view honestone.queue_depth as
    select honestone.jobs_in('todo') as waiting, honestone.jobs_in('doing') as in_hand;
