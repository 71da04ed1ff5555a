; What stands around a definition and belongs to it: decorated is no part of its signature, a wrapper is.
(decorated_definition) @decorated
((function_definition name: (identifier) @name body: (_) @body) @scope (#set! kind "function"))
((class_definition name: (identifier) @name body: (_) @body) @scope (#set! kind "class"))

(module . (comment)* . (expression_statement . (string) @doc))
(function_definition body: (block . (comment)* . (expression_statement . (string) @doc)))
(class_definition body: (block . (comment)* . (expression_statement . (string) @doc)))
(comment) @comment

(call function: [(identifier) (attribute)] @use)
(decorator [(identifier) (attribute)] @use)
(class_definition superclasses: (argument_list [(identifier) (attribute)] @base))
(class_definition superclasses: (argument_list (subscript value: [(identifier) (attribute)] @base)))
(raise_statement [(identifier) (attribute)] @use)
(except_clause value: [(identifier) (attribute)] @use)

[(import_statement) (import_from_statement)] @import

(parameters [
  (identifier) @local
  (default_parameter name: (identifier) @local)
  (typed_parameter (identifier) @local)
  (typed_default_parameter name: (identifier) @local)
])
(lambda_parameters [(identifier) @local (default_parameter name: (identifier) @local)])
(list_splat_pattern (identifier) @local)
(dictionary_splat_pattern (identifier) @local)
(assignment left: (identifier) @local)
(augmented_assignment left: (identifier) @local)
(pattern_list (identifier) @local)
(tuple_pattern (identifier) @local)
(list_pattern (identifier) @local)
(for_statement left: (identifier) @local)
(for_in_clause left: (identifier) @local)
(as_pattern_target (identifier) @local)
(named_expression name: (identifier) @local)
(global_statement (identifier) @outer)
(nonlocal_statement (identifier) @outer)
