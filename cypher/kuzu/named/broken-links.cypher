// Links that lead nowhere, by file and section.
MATCH (f:File)-[:HAS_SECTION]->(s:MarkdownSection)
WHERE f.projectId = $project AND s.brokenLinks IS NOT NULL
UNWIND s.brokenLinks AS target
RETURN f.root AS root, f.path AS path, s.startLine AS line, s.title AS section, target
ORDER BY root, path, line, target
UNION ALL
MATCH (f:File)
WHERE f.projectId = $project AND f.brokenLinks IS NOT NULL
UNWIND f.brokenLinks AS target
RETURN f.root AS root, f.path AS path, 1 AS line, '' AS section, target
ORDER BY root, path, line, target
