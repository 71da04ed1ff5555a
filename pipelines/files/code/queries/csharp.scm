((namespace_declaration name: (_) @name body: (_) @body) @scope (#set! kind "namespace"))
((class_declaration name: (identifier) @name body: (_)? @body) @scope (#set! kind "class"))
((struct_declaration name: (identifier) @name body: (_)? @body) @scope (#set! kind "struct"))
((interface_declaration name: (identifier) @name body: (_)? @body) @scope (#set! kind "interface"))
((enum_declaration name: (identifier) @name body: (_) @body) @scope (#set! kind "enum"))
((record_declaration name: (identifier) @name body: (_)? @body) @scope (#set! kind "record"))
((method_declaration name: (identifier) @name body: (_)? @body) @scope (#set! kind "method"))
((constructor_declaration name: (identifier) @name body: (_) @body) @scope (#set! kind "constructor"))
((local_function_statement name: (identifier) @name body: (_) @body) @scope (#set! kind "function"))

(comment) @comment
(file_scoped_namespace_declaration name: (_) @package)
(using_directive) @import

(invocation_expression function: [(identifier) (member_access_expression)] @use)
(invocation_expression function: (generic_name (identifier) @use))
(object_creation_expression type: [(identifier) (qualified_name)] @type)
(object_creation_expression type: (generic_name (identifier) @type))
(attribute name: [(identifier) (qualified_name)] @type)
(base_list [(identifier) (qualified_name)] @base)
(base_list (generic_name (identifier) @base))

(parameter name: (identifier) @local)
(implicit_parameter) @local
(local_declaration_statement (variable_declaration (variable_declarator name: (identifier) @local)))
(foreach_statement left: (identifier) @local)
(declaration_expression name: (identifier) @local)
(catch_declaration name: (identifier) @local)
