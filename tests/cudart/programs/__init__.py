"""Programs of the CUDA runtime API: each public function is one, and gets a `Runtime`."""
