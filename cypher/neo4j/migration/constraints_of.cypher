SHOW CONSTRAINTS YIELD name, type, entityType, labelsOrTypes, properties, createStatement
