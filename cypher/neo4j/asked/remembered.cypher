// What is known of the titles of a wiki, in pages by uuid.
MATCH (a:Article)
WHERE a.projectId = $project AND a.wiki = $wiki AND a.uuid > $after
RETURN a.uuid AS uuid, a.title AS title, a._state AS state, a._errorMessage AS reason, a._redirect AS redirect,
  a._contentHash AS hash, a.expansion_depth AS depth, a._errorClass AS class
ORDER BY uuid LIMIT $limit
