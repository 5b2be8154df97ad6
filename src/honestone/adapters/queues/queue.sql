-- Next to the tables of procrastinate, which are in the same schema. Documents are bytea, as in the other tables.
create table honestone.orders (
    run text collate "C" primary key,
    priority integer not null,
    is_paused boolean not null default false,
    at timestamptz not null default now(),
    plan bytea not null
);

create table honestone.runners (
    id bigint primary key,
    since timestamptz not null default now(),
    at timestamptz not null default now(),
    data bytea not null,
    -- Whose it is, and for how many seconds it may be silent.
    login text,
    silence double precision not null default 0
);
