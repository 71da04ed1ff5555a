// The file or article that a text is in, and its state.
MATCH (s:MarkdownSection|TextSection)<-[:HAS_SECTION]-(w:File)
WHERE s.uuid = $uuid AND s.projectId = $project
RETURN head(labels(w)) AS label, w.uuid AS uuid, w._state AS state
UNION ALL
MATCH (s:Scope)-[:DEFINED_IN]->(w:File)
WHERE s.uuid = $uuid AND s.projectId = $project
RETURN head(labels(w)) AS label, w.uuid AS uuid, w._state AS state
UNION ALL
MATCH (s:Section)<-[:HAS_SECTION]-(w:Article)
WHERE s.uuid = $uuid AND s.projectId = $project
RETURN head(labels(w)) AS label, w.uuid AS uuid, w._state AS state
