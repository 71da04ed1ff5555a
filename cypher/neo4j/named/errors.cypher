// What went wrong: every kind of error with the number of nodes it stopped, the most frequent first.
MATCH (n:File|Directory|MarkdownSection|Scope|TextSection|Chunk|Article|Section|Category|Wiki|Adopted)
WHERE n.projectId = $project AND n._state = 'error'
RETURN head(labels(n)) AS label, n._errorType AS errorType, n._errorClass AS class, n._errorMessage AS message,
    count(*) AS count
ORDER BY count DESC, label, errorType, message
