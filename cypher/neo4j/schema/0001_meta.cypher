// graphmill's own facts about this database: the schema's version and the vector spaces;
// and one node per commit in progress, by which a writer recognises that a commit whose answer was lost did happen.
CREATE CONSTRAINT graphmill_meta_key IF NOT EXISTS FOR (n:GraphmillMeta) REQUIRE n.key IS UNIQUE;
CREATE CONSTRAINT graphmill_commit_id IF NOT EXISTS FOR (n:GraphmillCommit) REQUIRE n.id IS UNIQUE;
