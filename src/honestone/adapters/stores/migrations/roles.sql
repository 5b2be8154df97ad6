do $$
declare
    name text;
begin
    foreach name in array array['honestone_reader', 'honestone_coordinator', 'honestone_runner'] loop
        if not exists (select from pg_roles where rolname = name) then
            execute format('create role %I nologin', name);
        end if;
    end loop;
end
$$;
grant honestone_reader to honestone_coordinator, honestone_runner;

grant usage on schema honestone to honestone_reader;
grant select on all tables in schema honestone to honestone_reader;
grant usage on all sequences in schema honestone to honestone_coordinator;
grant insert, update, delete on all tables in schema honestone to honestone_coordinator;
revoke insert, update, delete on honestone.format, honestone.runners, honestone.procrastinate_workers, honestone.worked
    from honestone_coordinator;
grant execute on function honestone.count_commit, honestone.forget_commits to honestone_coordinator, honestone_runner;
revoke all on all tables in schema honestone from honestone_runner;
revoke all on all sequences in schema honestone from honestone_runner;
grant execute on function honestone.add_event, honestone.add_reply, honestone.add_blob, honestone.add_grants,
    honestone.take_slot, honestone.beat, honestone.leave, honestone.take_cases, honestone.end_cases,
    honestone.give_back_case, honestone.sweep to honestone_runner;
