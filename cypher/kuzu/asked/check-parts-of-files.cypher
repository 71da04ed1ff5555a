// What linked files are known to hold, and how much of it is there, in pages by uuid.
MATCH (f:File)
WHERE f.projectId = $project AND f.uuid > $after AND f._manifest IS NOT NULL AND f._draft IS NULL
RETURN f.uuid AS uuid, f.path AS path, f._manifest AS manifest,
  COUNT { MATCH (f)-[:HAS_SECTION]->(:MarkdownSection:TextSection) } + COUNT { MATCH (f)<-[:DEFINED_IN]-(:Scope) } AS parts
ORDER BY uuid LIMIT $limit
