/* examples/cython_hello/main.c - the program: cc main.c launcher.c -o hello -ldl */
int run_cuda(void);

int main(void) { return run_cuda(); }
