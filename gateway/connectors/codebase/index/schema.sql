CREATE TABLE files (
    id INTEGER PRIMARY KEY,
    path BLOB NOT NULL UNIQUE, -- as the file system has it: not always UTF-8
    size INTEGER NOT NULL,
    digest BLOB NOT NULL,
    seen INTEGER NOT NULL, -- the number of the last update that met the file
    path_terms INTEGER NOT NULL, -- how many
    symbol_terms INTEGER NOT NULL,
    body_terms INTEGER NOT NULL
);
-- Kept apart: a scan of all files reads no terms. What is deleted from the full text index must be told its terms.
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
CREATE TABLE past (file_id INTEGER PRIMARY KEY, terms TEXT NOT NULL, age INTEGER NOT NULL); -- in commits
CREATE TABLE totals (name TEXT PRIMARY KEY, value REAL NOT NULL) WITHOUT ROWID;
CREATE VIRTUAL TABLE words USING fts5 (path, symbols, body, content = '', tokenize = "unicode61 remove_diacritics 0 tokenchars '=_'");
CREATE VIRTUAL TABLE past_words USING fts5 (terms, content = '', tokenize = "unicode61 remove_diacritics 0 tokenchars '=_'");
CREATE VIRTUAL TABLE word_files USING fts5vocab (words, row);
CREATE VIRTUAL TABLE past_word_files USING fts5vocab (past_words, row);
