// What a node is connected with in a graph with labels that a migration brought: some of each kind of relationship.
MATCH (n:File:Directory:MarkdownSection:Scope:TextSection:Article:Section:Category:Adopted)-[r]->(m:File:Directory:MarkdownSection:Scope:TextSection:Article:Section:Category:Adopted)
WHERE n.uuid = $uuid AND n.projectId = $project AND m.projectId = $project
WITH label(r) AS relationship, label(m) AS label, m.uuid AS uuid, m.name AS name ORDER BY uuid LIMIT 10000
WITH relationship, collect({label: label, uuid: uuid, name: name}) AS found
UNWIND list_slice(found, 1, $limit) AS each
RETURN relationship AS relationship, TRUE AS forward, each.label AS label, each.uuid AS uuid, each.name AS name
UNION ALL
MATCH (n:File:Directory:MarkdownSection:Scope:TextSection:Article:Section:Category:Adopted)<-[r]-(m:File:Directory:MarkdownSection:Scope:TextSection:Article:Section:Category:Adopted)
WHERE n.uuid = $uuid AND n.projectId = $project AND m.projectId = $project
WITH label(r) AS relationship, label(m) AS label, m.uuid AS uuid, m.name AS name ORDER BY uuid LIMIT 10000
WITH relationship, collect({label: label, uuid: uuid, name: name}) AS found
UNWIND list_slice(found, 1, $limit) AS each
RETURN relationship AS relationship, FALSE AS forward, each.label AS label, each.uuid AS uuid, each.name AS name
