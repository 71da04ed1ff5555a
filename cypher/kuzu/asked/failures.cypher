// What went wrong, grouped by message, most frequent first; an empty $type or $class, or one in $labels, lets everything through.
MATCH (n:File:Directory:MarkdownSection:Scope:TextSection:Chunk:Article:Section:Category:Wiki:Adopted)
WHERE n.projectId = $project AND n._state = 'error'
  AND ($type = '' OR n._errorType = $type) AND ($class = '' OR n._errorClass = $class)
  AND (list_contains($labels, '') OR list_contains($labels, label(n)))
RETURN label(n) AS label, n._errorType AS errorType, n._errorClass AS class, n._errorMessage AS message, count(*) AS count
ORDER BY count DESC, label, errorType, message
