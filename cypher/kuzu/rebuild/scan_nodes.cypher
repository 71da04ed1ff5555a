// Reads every value, keeps none.
MATCH (n:`%label%`) RETURN %[count(n.`%column%`)]%
