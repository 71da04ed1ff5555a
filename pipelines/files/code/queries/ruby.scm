((method name: (_) @name) @scope (#set! kind "function"))
((method name: (_) @name body: (_) @body) @scope (#set! kind "function"))
((singleton_method name: (_) @name) @scope (#set! kind "function"))
((singleton_method name: (_) @name body: (_) @body) @scope (#set! kind "function"))
((class name: (_) @name body: (_)? @body) @scope (#set! kind "class"))
((module name: (_) @name body: (_)? @body) @scope (#set! kind "module"))

(comment) @comment

(call receiver: [(constant) (scope_resolution) (self)] @qualifier method: (identifier) @use)
(call !receiver method: (identifier) @use)
(body_statement (identifier) @use)
(superclass [(constant) (scope_resolution)] @base)
((call !receiver method: (identifier) @_mixin arguments: (argument_list [(constant) (scope_resolution)] @base))
  (#any-of? @_mixin "include" "extend" "prepend"))

((call !receiver method: (identifier) @_require arguments: (argument_list (string))) @import
  (#any-of? @_require "require" "require_relative"))

(method_parameters (identifier) @local)
(optional_parameter name: (identifier) @local)
(keyword_parameter name: (identifier) @local)
(splat_parameter name: (identifier) @local)
(hash_splat_parameter name: (identifier) @local)
(block_parameter name: (identifier) @local)
(block_parameters (identifier) @local)
(assignment left: (identifier) @local)
(operator_assignment left: (identifier) @local)
(left_assignment_list (identifier) @local)
(exception_variable (identifier) @local)
(for pattern: (identifier) @local)
