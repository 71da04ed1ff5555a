// How many nodes of each label are in which state.
MATCH (n:File:Directory:MarkdownSection:Scope:TextSection:Chunk:Article:Section:Category:Wiki:Adopted)
WHERE n.projectId = $project
RETURN label(n) AS label, n._state AS state, count(*) AS count
ORDER BY label, state
