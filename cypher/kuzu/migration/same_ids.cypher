// What is in a column of one table and of another. Reads only.
MATCH (n:%label%), (m:%other%)
WHERE n.`%column%` = m.`%otherColumn%`
RETURN n.`%column%` AS value LIMIT 1
