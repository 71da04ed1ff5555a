// A node as it was exported: everything in it is given, its state and its times too.
LOAD FROM $rows
CREATE (:%label% {%[`%property%`: v_%property%]%})
