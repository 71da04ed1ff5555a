-- name: begin
BEGIN IMMEDIATE;

-- name: commit
COMMIT;

-- name: rollback
ROLLBACK;

-- name: version
PRAGMA user_version;

-- name: set_version
PRAGMA user_version = 1;

-- name: settings
PRAGMA journal_mode = WAL;
-- A vector that a crash of the machine takes away is made again.
PRAGMA synchronous = NORMAL;

-- name: create
CREATE TABLE IF NOT EXISTS space (id INTEGER PRIMARY KEY, provider TEXT NOT NULL, model TEXT NOT NULL, dimension INTEGER NOT NULL, UNIQUE (provider, model, dimension));
-- used: the number of the opening that last asked for the vector, so that no clock is needed to know what is old
CREATE TABLE IF NOT EXISTS vector (id INTEGER PRIMARY KEY, space INTEGER NOT NULL REFERENCES space, hash BLOB NOT NULL, used INTEGER NOT NULL, numbers BLOB NOT NULL, UNIQUE (space, hash));
CREATE INDEX IF NOT EXISTS vector_by_use ON vector (used, id);
CREATE TABLE IF NOT EXISTS opening (only INTEGER PRIMARY KEY CHECK (only = 1), number INTEGER NOT NULL);

-- name: count_opening
INSERT INTO opening (only, number) VALUES (1, 1) ON CONFLICT (only) DO UPDATE SET number = number + 1 RETURNING number;

-- name: make_space
INSERT OR IGNORE INTO space (provider, model, dimension) VALUES (:provider, :model, :dimension);

-- name: space
SELECT id FROM space WHERE provider = :provider AND model = :model AND dimension = :dimension;

-- name: get
SELECT id, used, numbers FROM vector WHERE space = :space AND hash = :hash;

-- name: touch
UPDATE vector SET used = :used WHERE id = :id;

-- name: put
INSERT INTO vector (space, hash, used, numbers) VALUES (:space, :hash, :used, :numbers) ON CONFLICT (space, hash) DO UPDATE SET used = excluded.used, numbers = excluded.numbers;

-- name: size
SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, pragma_freelist_count, pragma_page_size;

-- name: count
SELECT count(*) FROM vector;

-- name: forget_oldest
DELETE FROM vector WHERE id IN (SELECT id FROM vector ORDER BY used, id LIMIT :count);
