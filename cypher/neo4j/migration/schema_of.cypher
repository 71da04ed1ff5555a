SHOW INDEXES YIELD name, type, entityType, labelsOrTypes, properties, owningConstraint, createStatement
