// Where a text stands: in which file, or in which article.
MATCH (n:MarkdownSection)<-[:HAS_SECTION]-(f:File)
WHERE n.uuid = $uuid AND n.projectId = $project
RETURN f.root AS root, f.path AS path, CAST(NULL AS STRING) AS title, CAST(NULL AS STRING) AS url
UNION ALL
MATCH (n:TextSection)<-[:HAS_SECTION]-(f:File)
WHERE n.uuid = $uuid AND n.projectId = $project
RETURN f.root AS root, f.path AS path, CAST(NULL AS STRING) AS title, CAST(NULL AS STRING) AS url
UNION ALL
MATCH (n:Scope)-[:DEFINED_IN]->(f:File)
WHERE n.uuid = $uuid AND n.projectId = $project
RETURN f.root AS root, f.path AS path, CAST(NULL AS STRING) AS title, CAST(NULL AS STRING) AS url
UNION ALL
MATCH (n:Section)<-[:HAS_SECTION]-(a:Article)
WHERE n.uuid = $uuid AND n.projectId = $project
RETURN CAST(NULL AS STRING) AS root, CAST(NULL AS STRING) AS path, a.title AS title, a.url AS url
