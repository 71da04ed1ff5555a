// The labels that have nodes in some states. The predicates on depth and time are there for the claim index.
MATCH (n:File|Directory|MarkdownSection|Scope|TextSection|Chunk|Article|Section|Category|Wiki|IngestionRun|Partition|Worker|Adopted)
WHERE n.projectId = $project AND n._state IN $states AND n._depth >= $shallowest AND n._detectedAt IS NOT NULL
UNWIND labels(n) AS label
RETURN DISTINCT label
