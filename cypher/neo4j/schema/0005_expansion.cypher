// The wikis that a project takes articles from.
CREATE CONSTRAINT wiki_uuid IF NOT EXISTS FOR (n:Wiki) REQUIRE n.uuid IS UNIQUE;
CREATE INDEX wiki_claim IF NOT EXISTS FOR (n:Wiki) ON (n.projectId, n._state, n._depth, n._detectedAt);
