// The labels of which nodes are being worked on, and how many of each.
MATCH (n:File:Directory:MarkdownSection:Scope:TextSection:Chunk:Article:Section:Category:Wiki:IngestionRun:Partition:Worker)
WHERE n.projectId = $project AND n._state IN ['parsing', 'linking', 'embedding']
RETURN label(n) AS label, count(*) AS count
ORDER BY label
