SHOW CONSTRAINTS YIELD name, type, labelsOrTypes, properties
