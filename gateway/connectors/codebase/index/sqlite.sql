CREATE TABLE files (
    id INTEGER PRIMARY KEY,
    path BLOB NOT NULL UNIQUE, -- as the file system has it: not always UTF-8
    digest BLOB NOT NULL,
    path_terms INTEGER NOT NULL, -- how many
    symbol_terms INTEGER NOT NULL,
    body_terms INTEGER NOT NULL
);
-- In a table of its own, so that a scan of all files reads no terms. To delete a file from the full-text index, its terms
-- must be given.
CREATE TABLE terms (file_id INTEGER PRIMARY KEY, packed BLOB NOT NULL);
CREATE TABLE symbols (
    file_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    start_line INTEGER NOT NULL,
    end_line INTEGER NOT NULL
);
CREATE INDEX symbols_of_file ON symbols (file_id);
CREATE INDEX symbols_by_name ON symbols (name COLLATE NOCASE);
CREATE TABLE grams (file_id INTEGER PRIMARY KEY, signature BLOB NOT NULL); -- of the texts that a file may hold
-- `length`: how many terms. `age`: in commits.
CREATE TABLE past (file_id INTEGER PRIMARY KEY, length INTEGER NOT NULL, age INTEGER NOT NULL, terms TEXT NOT NULL);
-- A stamp shows that a file has not changed since it was read. Files that are left out have one too.
CREATE TABLE stamps (path BLOB PRIMARY KEY, stamp TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE totals (name TEXT PRIMARY KEY, value REAL NOT NULL) WITHOUT ROWID;
CREATE VIRTUAL TABLE words USING fts5 (path, symbols, body, content = '', tokenize = "unicode61 remove_diacritics 0 tokenchars '=_'");
CREATE VIRTUAL TABLE past_words USING fts5 (terms, content = '', tokenize = "unicode61 remove_diacritics 0 tokenchars '=_'");
CREATE VIRTUAL TABLE word_files USING fts5vocab (words, row);
CREATE VIRTUAL TABLE past_word_files USING fts5vocab (past_words, row);
INSERT INTO words (words, rank) VALUES ('hashsize', 4194304); -- bytes of terms before a segment is written: fewer merges
