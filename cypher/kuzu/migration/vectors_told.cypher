// How many nodes have vectors of which lengths, by column, and what they say of their model. Reads only.
MATCH (n:%label%)
RETURN %[size(n.`%column%`) AS `%column%`]%%[, |n.`%property%` AS `%property%`]%, count(*) AS count
