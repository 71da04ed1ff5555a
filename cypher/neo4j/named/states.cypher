// How many nodes of each label are in each state.
MATCH (n:File|Directory|MarkdownSection|Scope|TextSection|Chunk|Article|Section|Category|Wiki|Adopted)
WHERE n.projectId = $project
RETURN head(labels(n)) AS label, n._state AS state, count(*) AS count
ORDER BY label, state
