// All that are there more than once: files and folders by root and path, articles and categories by wiki and title.
MATCH (n:File:Directory)
WHERE n.projectId = $project AND n.path IS NOT NULL AND n.root IS NOT NULL
WITH label(n) AS label, n.root AS place, n.path AS key, collect(n.uuid) AS uuids
WHERE size(uuids) > 1
RETURN label AS label, place AS place, key AS key, uuids AS uuids
UNION ALL
MATCH (n:Article:Category)
WHERE n.projectId = $project AND n.title IS NOT NULL AND n.wiki IS NOT NULL
WITH label(n) AS label, n.wiki AS place, n.title AS key, collect(n.uuid) AS uuids
WHERE size(uuids) > 1
RETURN label AS label, place AS place, key AS key, uuids AS uuids
