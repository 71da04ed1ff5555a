// How many nodes of wikis are not yet at rest. A parsed section waits for nothing but its article.
MATCH (n:Article:Category:Section)
WHERE n.projectId = $project AND (n._state IN ['pending', 'parsing', 'linking', 'linked', 'embedding']
  OR (n._state = 'parsed' AND label(n) IN ['Article', 'Category']))
RETURN count(*) AS count
