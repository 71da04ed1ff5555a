// What went wrong, grouped by message, most frequent first.
MATCH (n:File:Directory:MarkdownSection:Scope:TextSection:Chunk:Article:Section:Category:Wiki:Adopted)
WHERE n.projectId = $project AND n._state = 'error'
RETURN label(n) AS label, n._errorType AS errorType, n._errorClass AS class, n._errorMessage AS message, count(*) AS count
ORDER BY count DESC, label, message
