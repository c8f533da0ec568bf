"""A launch holds the GIL only where it cannot wait, so it does not stop other threads."""

from test_driver import good

MANY = 3000  # more than a driver's queue takes


def test_other_threads_run_while_a_launch_waits_for_room(driver):
    """Only another thread can open the gate that the queue waits for."""
    good(
        f"""
        import sys, threading, time
        sys.path.insert(0, "tests")
        import numpy as np
        import cupola, images
        from gate import Gate

        stream = cupola.Stream(non_blocking=True)
        counter = cupola.zeros(1, np.int32)
        kernel = images.module()["increment"]
        ways = [
            kernel.prepare(1, 1, counter, 1, stream=stream),
            lambda: kernel[1, 1, stream](counter, 1),
        ]
        done = []

        def launch(way):
            for _ in range({MANY}):
                way()
            done.append(True)

        for way in ways:
            with Gate(stream) as gate:
                thread = threading.Thread(target=launch, args=[way])
                thread.start()
                time.sleep(0.5)
                gate.open()
                thread.join()
            del gate  # its memory is freed by waiting for the device: not behind the next gate
        assert done == [True, True]
        assert counter.get()[0] == 2 * {MANY}
        """,
        CUPOLA_DRIVER=driver,
    )


def test_python_functions_of_other_libraries_run_behind_a_full_queue(driver):
    """A callback outside cupola takes the GIL while launches queue behind it."""
    good(
        f"""
        import ctypes, time
        import numpy as np
        import cupola

        stream = cupola.Stream(non_blocking=True)
        kernel = cupola.shipped_kernels()["saxpy"]
        x = cupola.zeros(32, np.float32)
        launch = kernel.prepare(1, 32, 1.0, x, x, x, 32, stream=stream)
        called = []

        @ctypes.CFUNCTYPE(None, ctypes.c_void_p)
        def callback(data):
            time.sleep(0.2)
            called.append(True)

        driver = ctypes.CDLL(cupola.driver.info().path)
        for _ in range(3):
            assert driver.cuLaunchHostFunc(ctypes.c_void_p(stream.handle), callback, None) == 0
            for _ in range({MANY}):
                launch()
        stream.synchronize()
        assert called == [True] * 3
        """,
        CUPOLA_DRIVER=driver,
    )
