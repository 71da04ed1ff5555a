// What Wikipedia becomes.
// The claim index serves claims in order: equalities first, then depth, then age.
CREATE CONSTRAINT article_uuid IF NOT EXISTS FOR (n:Article) REQUIRE n.uuid IS UNIQUE;
CREATE INDEX article_claim IF NOT EXISTS FOR (n:Article) ON (n.projectId, n._state, n._depth, n._detectedAt);
CREATE CONSTRAINT section_uuid IF NOT EXISTS FOR (n:Section) REQUIRE n.uuid IS UNIQUE;
CREATE INDEX section_claim IF NOT EXISTS FOR (n:Section) ON (n.projectId, n._state, n._depth, n._detectedAt);
CREATE CONSTRAINT category_uuid IF NOT EXISTS FOR (n:Category) REQUIRE n.uuid IS UNIQUE;
CREATE INDEX category_claim IF NOT EXISTS FOR (n:Category) ON (n.projectId, n._state, n._depth, n._detectedAt);
