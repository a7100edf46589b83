-- The tables of one project, in a schema of its own. Unlogged: an index can be rebuilt, and without the log that takes
-- half the time. After a crash of the server the tables are empty.
CREATE UNLOGGED TABLE files (
    id integer PRIMARY KEY,
    path bytea NOT NULL UNIQUE, -- as the file system has it: not always UTF-8
    digest bytea NOT NULL,
    path_terms integer NOT NULL, -- how many
    symbol_terms integer NOT NULL,
    body_terms integer NOT NULL
);
-- Large values are stored outside the rows, because a search reads many rows and few values.
CREATE UNLOGGED TABLE terms (
    file_id integer PRIMARY KEY,
    postings bigint[] NOT NULL, -- see postings.py
    packed bytea NOT NULL,
    symbols text NOT NULL
) WITH (toast_tuple_target = 128);
ALTER TABLE terms ALTER COLUMN postings SET STORAGE EXTERNAL, ALTER COLUMN packed SET STORAGE EXTERNAL;
CREATE INDEX terms_by_posting ON terms USING gin (postings) WITH (gin_pending_list_limit = 16384);
CREATE UNLOGGED TABLE grams (file_id integer PRIMARY KEY, signature bytea NOT NULL);
ALTER TABLE grams ALTER COLUMN signature SET STORAGE EXTERNAL;
-- `length`: how many terms. `age`: in commits.
CREATE UNLOGGED TABLE past (
    file_id integer PRIMARY KEY,
    length integer NOT NULL,
    age integer NOT NULL,
    postings bigint[] NOT NULL,
    terms text NOT NULL
) WITH (toast_tuple_target = 128);
ALTER TABLE past ALTER COLUMN postings SET STORAGE EXTERNAL;
CREATE INDEX past_by_posting ON past USING gin (postings);
-- A stamp shows that a file has not changed since it was read. Files that are left out have one too.
CREATE UNLOGGED TABLE stamps (path bytea PRIMARY KEY, stamp text NOT NULL);
CREATE UNLOGGED TABLE facts (name text PRIMARY KEY, value text NOT NULL);
CREATE UNLOGGED TABLE totals (name text PRIMARY KEY, value bigint NOT NULL);
