-- What is kept beside a dump. A row of `fact` is there once, and `page` is in the order of the places in the dump.

-- name: settings
-- What a crash of the machine may leave is checked before it is gone on with, and the whole file is synced at its end.
PRAGMA journal_mode = DELETE;
PRAGMA synchronous = OFF;
PRAGMA cache_size = -32000;

-- name: create
CREATE TABLE IF NOT EXISTS fact (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS page (
    id INTEGER PRIMARY KEY, title TEXT NOT NULL, page_id INTEGER NOT NULL,
    stream INTEGER NOT NULL, position INTEGER, length INTEGER,
    revision_id INTEGER, timestamp TEXT, kind TEXT, target TEXT, fragment TEXT
);
CREATE TABLE IF NOT EXISTS category (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS member (category INTEGER NOT NULL, page INTEGER NOT NULL);

-- name: begin
BEGIN IMMEDIATE;

-- name: commit
COMMIT;

-- name: check
PRAGMA quick_check(1);

-- name: facts
SELECT name, value FROM fact;

-- name: tell
INSERT OR REPLACE INTO fact (name, value) VALUES (:name, :value);

-- name: add
INSERT INTO page (title, page_id, stream, position, length, revision_id, timestamp, kind, target, fragment)
VALUES (:title, :page_id, :stream, :position, :length, :revision_id, :timestamp, :kind, :target, :fragment);

-- name: add_category
INSERT OR IGNORE INTO category (name) VALUES (?);

-- name: add_member
INSERT INTO member (category, page) SELECT id, :page FROM category WHERE name = :name;

-- name: index_titles
CREATE INDEX page_title ON page (title);

-- name: index_targets
CREATE INDEX page_target ON page (target) WHERE target IS NOT NULL;

-- name: index_members
CREATE INDEX member_category ON member (category, page);

-- name: forget_old
-- Of several pages by one title the newest stays; of equal ones the first.
DELETE FROM page WHERE EXISTS (
    SELECT 1 FROM page AS other WHERE other.title = page.title AND other.id <> page.id
    AND (coalesce(other.revision_id, 0), coalesce(other.timestamp, ''), -other.id)
      > (coalesce(page.revision_id, 0), coalesce(page.timestamp, ''), -page.id)
);

-- name: find
SELECT page.* FROM json_each(?) AS asked CROSS JOIN page ON page.title = asked.value;

-- name: leading_to
SELECT page.title, page.target FROM json_each(?) AS asked CROSS JOIN page ON page.target = asked.value
ORDER BY page.title;

-- name: following
SELECT * FROM page WHERE id > :id ORDER BY id LIMIT :limit;

-- name: last
SELECT * FROM page ORDER BY id DESC LIMIT 1;

-- name: first
SELECT * FROM page ORDER BY id LIMIT 1;

-- name: has_more_than
SELECT count(*) > :limit FROM (SELECT 1 FROM page LIMIT :limit + 1);

-- name: every_title
SELECT title FROM page;

-- name: titles_from
SELECT title FROM page WHERE title >= :title ORDER BY title LIMIT :limit;

-- name: titles_before
SELECT title FROM page WHERE title < :title ORDER BY title DESC LIMIT :limit;

-- name: members
SELECT page.* FROM category JOIN member ON member.category = category.id JOIN page ON page.id = member.page
WHERE category.name = ?;
