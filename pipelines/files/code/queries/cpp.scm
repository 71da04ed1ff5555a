; What C++ has beyond C.
(template_declaration) @wrapper
((class_specifier name: (_) @name body: (_) @body) @scope (#set! kind "class"))
((namespace_definition name: (_) @name body: (_) @body) @scope (#set! kind "namespace"))
((function_definition declarator: (function_declarator declarator: [(field_identifier) (destructor_name) (operator_name) (qualified_identifier)] @name) body: (_) @body) @scope (#set! kind "function"))
((function_definition declarator: (pointer_declarator declarator: (function_declarator declarator: [(field_identifier) (operator_name) (qualified_identifier)] @name)) body: (_) @body) @scope (#set! kind "function"))
((function_definition declarator: (reference_declarator (function_declarator declarator: [(identifier) (field_identifier) (operator_name) (qualified_identifier)] @name)) body: (_) @body) @scope (#set! kind "function"))
((function_definition declarator: (operator_cast) @name body: (_) @body) @scope (#set! kind "function"))
((concept_definition name: (_) @name) @scope (#set! kind "type"))

(base_class_clause [(type_identifier) (qualified_identifier)] @base)
(base_class_clause (template_type name: (_) @base))
(call_expression function: (qualified_identifier) @use)
(call_expression function: (template_function name: (identifier) @use))
(new_expression type: [(type_identifier) (qualified_identifier)] @type)
(new_expression type: (template_type name: (_) @type))

(field_declaration declarator: (function_declarator declarator: (field_identifier) @prototype))
(field_declaration declarator: (pointer_declarator declarator: (function_declarator declarator: (field_identifier) @prototype)))
(field_declaration declarator: (reference_declarator (function_declarator declarator: (field_identifier) @prototype)))
(declaration declarator: (reference_declarator (function_declarator declarator: (identifier) @prototype)))

(parameter_declaration declarator: (reference_declarator (identifier) @local))
(optional_parameter_declaration declarator: (identifier) @local)
(init_declarator declarator: (reference_declarator (identifier) @local))
(for_range_loop declarator: (identifier) @local)
(for_range_loop declarator: (reference_declarator (identifier) @local))
