// What is expected and does not come fails the test, in any spelling.

// CHECK: expected.mlir:13: error: expected error "none" was not produced
// CHECK: expected.mlir:15: error: expected warning "none" was not produced
// CHECK: expected.mlir:17: error: expected remark "none" was not produced
// CHECK: expected.mlir:19: error: expected note "none" was not produced
// CHECK: expected.mlir:21: error: this expects nothing; it reads expected-error @+1 {{.*}}text

func.func @fine() {
  func.return
}

// expected-error @+1 {{none}}

// expected-warning@below {{none}}

// expected-remark @ -1 {{none}}

// expected-note {{none}}

// expected-error @next {{none}}
