((function_item name: (identifier) @name body: (_) @body) @scope (#set! kind "function"))
((function_signature_item name: (identifier) @name) @scope (#set! kind "function"))
((struct_item name: (type_identifier) @name body: (_)? @body) @scope (#set! kind "struct"))
((union_item name: (type_identifier) @name body: (_) @body) @scope (#set! kind "union"))
((enum_item name: (type_identifier) @name body: (_) @body) @scope (#set! kind "enum"))
((trait_item name: (type_identifier) @name body: (_) @body) @scope (#set! kind "trait"))
((impl_item type: [(type_identifier) @name (generic_type type: (type_identifier) @name)] body: (_) @body) @scope (#set! kind "impl"))
((mod_item name: (identifier) @name body: (_) @body) @scope (#set! kind "namespace"))
((macro_definition name: (identifier) @name ["{" "(" "["] @body) @scope (#set! kind "macro"))

[(line_comment) (block_comment)] @comment
(attribute_item) @attribute

(call_expression function: [(identifier) (scoped_identifier) (field_expression)] @use)
(call_expression function: (generic_function function: [(identifier) (scoped_identifier) (field_expression)] @use))
(struct_expression name: [(type_identifier) (scoped_type_identifier)] @type)
(struct_expression name: (generic_type_with_turbofish type: [(type_identifier) (scoped_type_identifier)] @type))
(macro_invocation macro: [(identifier) (scoped_identifier)] @use)
(impl_item trait: [(type_identifier) (scoped_type_identifier)] @base)
(impl_item trait: (generic_type type: [(type_identifier) (scoped_type_identifier)] @base))
(trait_item bounds: (trait_bounds [(type_identifier) (scoped_type_identifier)] @base))

(use_declaration) @import
(mod_item !body) @import

(parameter pattern: (identifier) @local)
(parameter pattern: (mut_pattern (identifier) @local))
(closure_parameters (identifier) @local)
(let_declaration pattern: (identifier) @local)
(let_declaration pattern: (mut_pattern (identifier) @local))
(tuple_pattern (identifier) @local)
(tuple_struct_pattern (identifier) @local)
(for_expression pattern: (identifier) @local)
(match_pattern (identifier) @local)
