# tests/install/test_conda.py - rattler-build reads the recipe for conda.
import json
import os
import sys

import pytest
from processes import ROOT, call

RECIPE = ROOT / "tools" / "conda" / "recipe.yaml"
PARSER = "py-rattler-build==0.73.0"
RENDER = """
import json, sys
from rattler_build import PlatformConfig, RenderConfig, Stage0Recipe, VariantConfig

recipe = Stage0Recipe.from_file(sys.argv[1])
variants = VariantConfig({
    "python": ["3.12.* *_cpython"], "cuda_compiler": ["cuda-nvcc"], "cxx_compiler": ["gxx"],
    "cuda_compiler_version": [sys.argv[3]], "c_stdlib": ["sysroot"], "c_stdlib_version": ["2.28"],
})
platform = PlatformConfig(target_platform=sys.argv[2], host_platform=sys.argv[2])
rendered = recipe.render(variants, RenderConfig(platform=platform))
print(json.dumps([one.recipe.to_dict() for one in rendered]))
"""


@pytest.fixture(scope="module")
def parser(tmp_path_factory):
    """rattler-build's own reader, which refuses unknown keys."""
    if os.environ.get("CUPOLA_OFFLINE") == "1":
        pytest.skip("CUPOLA_OFFLINE=1: the reader comes from a package index")
    folder = tmp_path_factory.mktemp("rattler")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    call([*pip, "--no-deps", "--target", folder, PARSER], folder, dict(os.environ))
    return {**os.environ, "PYTHONPATH": str(folder)}


def rendered(parser, platform, cuda, folder, recipe=RECIPE):
    command = [sys.executable, "-c", RENDER, recipe, platform, cuda]
    return json.loads(call(command, folder, parser).splitlines()[-1])


@pytest.mark.parametrize("platform", ["linux-64", "linux-aarch64"])
def test_the_recipe_is_rendered(parser, tmp_path, platform):
    (recipe,) = rendered(parser, platform, "13.0", tmp_path)
    told = json.dumps(recipe)
    assert "cuda-nvcc_" in told and "cuda-version 13.0" in told
    assert "__cuda >=11.3" in json.dumps(recipe["requirements"]["run_constraints"])
    assert "__cuda" not in json.dumps(recipe["requirements"]["run"])


def test_an_unknown_key_is_refused(parser, tmp_path):
    wrong = tmp_path / "recipe.yaml"
    wrong.write_text(RECIPE.read_text().replace("run_constraints", "run_constrained"))
    with pytest.raises(pytest.fail.Exception, match="unknown field 'run_constrained'"):
        rendered(parser, "linux-64", "13.0", tmp_path, wrong)
