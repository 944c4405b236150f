// RUN: spyre-opt %s -p canonicalize,cse --dump-pass-pipeline -o /dev/null 2>&1 | filecheck %s
// RUN: spyre-opt %s --pass-pipeline='builtin.module(canonicalize,cse)' --dump-pass-pipeline -o /dev/null 2>&1 | filecheck %s
// RUN: spyre-opt %s -canonicalize --cse --dump-pass-pipeline -o /dev/null 2>&1 | filecheck %s
// RUN: spyre-opt %s --pipeline canonicalize --dump-pass-pipeline -o /dev/null 2>&1 | filecheck %s --check-prefix NAMED
// RUN: spyre-opt --list-passes | filecheck %s --check-prefix LIST
// RUN: spyre-opt --list-pipelines | filecheck %s --check-prefix PIPELINES
// RUN: not spyre-opt %s -p cze 2>&1 | filecheck %s --check-prefix UNKNOWN
// RUN: not spyre-opt %s --pipeline fast 2>&1 | filecheck %s --check-prefix NOPIPELINE
// RUN: not spyre-opt %s --pass-pipeline='cse' 2>&1 | filecheck %s --check-prefix NOANCHOR
// RUN: not spyre-opt %s -p 'cse{x=1}' 2>&1 | filecheck %s --check-prefix NOOPTION

// The spellings of mlir-opt and of xdsl-opt name the same passes.

// CHECK:      builtin.module(canonicalize,cse)
// NAMED:      builtin.module(canonicalize,cse,dce)
// LIST:       spyre-
// PIPELINES:  canonicalize
// UNKNOWN:    spyre-opt: error: no pass is called "cze"; there is dce, cse
// NOPIPELINE: spyre-opt: error: no pipeline is called "fast"; there are: canonicalize
// NOANCHOR:   spyre-opt: error: expected "builtin.module(...)", got "cse"
// NOOPTION:   spyre-opt: error: {{.*}}"x"
func.func @empty() {
  func.return
}
