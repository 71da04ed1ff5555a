// How many nodes were last made or changed by a run, by state.
MATCH (n:File|Directory|MarkdownSection|Scope|TextSection|Chunk|Article|Section|Category)
WHERE n.projectId = $project AND n._runId = $run
RETURN n._state AS state, count(*) AS count
ORDER BY state
