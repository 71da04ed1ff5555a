// The labels of which nodes are being worked on, and how many of each. Depth and time are there for the claim index.
MATCH (n:File|Directory|MarkdownSection|Scope|TextSection|Chunk|Article|Section|Category|Wiki|IngestionRun|Partition|Worker)
WHERE n.projectId = $project AND n._state IN ['parsing', 'linking', 'embedding']
  AND n._depth >= -2147483648 AND n._detectedAt IS NOT NULL
UNWIND labels(n) AS label
RETURN label, count(*) AS count
ORDER BY label
