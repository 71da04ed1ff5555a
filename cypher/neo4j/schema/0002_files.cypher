// What a folder of files becomes.
// The claim index serves claims in order: equalities first, then depth, then age.
CREATE CONSTRAINT file_uuid IF NOT EXISTS FOR (n:File) REQUIRE n.uuid IS UNIQUE;
CREATE INDEX file_claim IF NOT EXISTS FOR (n:File) ON (n.projectId, n._state, n._depth, n._detectedAt);
CREATE CONSTRAINT directory_uuid IF NOT EXISTS FOR (n:Directory) REQUIRE n.uuid IS UNIQUE;
CREATE INDEX directory_claim IF NOT EXISTS FOR (n:Directory) ON (n.projectId, n._state, n._depth, n._detectedAt);
CREATE CONSTRAINT markdown_section_uuid IF NOT EXISTS FOR (n:MarkdownSection) REQUIRE n.uuid IS UNIQUE;
CREATE INDEX markdown_section_claim IF NOT EXISTS FOR (n:MarkdownSection) ON (n.projectId, n._state, n._depth, n._detectedAt);
CREATE CONSTRAINT scope_uuid IF NOT EXISTS FOR (n:Scope) REQUIRE n.uuid IS UNIQUE;
CREATE INDEX scope_claim IF NOT EXISTS FOR (n:Scope) ON (n.projectId, n._state, n._depth, n._detectedAt);
CREATE CONSTRAINT text_section_uuid IF NOT EXISTS FOR (n:TextSection) REQUIRE n.uuid IS UNIQUE;
CREATE INDEX text_section_claim IF NOT EXISTS FOR (n:TextSection) ON (n.projectId, n._state, n._depth, n._detectedAt);
CREATE CONSTRAINT chunk_uuid IF NOT EXISTS FOR (n:Chunk) REQUIRE n.uuid IS UNIQUE;
CREATE INDEX chunk_claim IF NOT EXISTS FOR (n:Chunk) ON (n.projectId, n._state, n._depth, n._detectedAt);
