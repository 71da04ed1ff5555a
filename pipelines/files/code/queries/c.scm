; What C and C++ call alike.
((function_definition declarator: (function_declarator declarator: (identifier) @name) body: (_) @body) @scope (#set! kind "function"))
((function_definition declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name)) body: (_) @body) @scope (#set! kind "function"))
((function_definition declarator: (pointer_declarator declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))) body: (_) @body) @scope (#set! kind "function"))
((struct_specifier name: (type_identifier) @name body: (_) @body) @scope (#set! kind "struct"))
((union_specifier name: (type_identifier) @name body: (_) @body) @scope (#set! kind "union"))
((enum_specifier name: (type_identifier) @name body: (_) @body) @scope (#set! kind "enum"))
((type_definition type: (struct_specifier !name body: (_) @body) declarator: (type_identifier) @name) @scope (#set! kind "struct"))
((type_definition type: (union_specifier !name body: (_) @body) declarator: (type_identifier) @name) @scope (#set! kind "union"))
((type_definition type: (enum_specifier !name body: (_) @body) declarator: (type_identifier) @name) @scope (#set! kind "enum"))
((preproc_function_def name: (identifier) @name value: (_)? @body) @scope (#set! kind "macro"))
(type_definition) @wrapper

(comment) @comment

(call_expression function: [(identifier) (field_expression)] @use)
(preproc_include path: (string_literal)) @import

(declaration declarator: (function_declarator declarator: (identifier) @prototype))
(declaration declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @prototype)))

(parameter_declaration declarator: (identifier) @local)
(parameter_declaration declarator: (pointer_declarator declarator: (identifier) @local))
(parameter_declaration declarator: (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (identifier) @local))))
(declaration declarator: (identifier) @local)
(declaration declarator: (pointer_declarator declarator: (identifier) @local))
(init_declarator declarator: (identifier) @local)
(init_declarator declarator: (pointer_declarator declarator: (identifier) @local))
