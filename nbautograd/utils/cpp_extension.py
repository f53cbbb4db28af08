"""``torch.utils.cpp_extension``: compilation is not supported; only queries of setup scripts are.

PyTorch's own module needs setuptools, so its names are listed here.
"""

from __future__ import annotations

from nbautograd._names import absent, refused

CUDA_HOME = None
ROCM_HOME = None
IS_HIP_EXTENSION = False
NAMES = """
    BuildExtension CUDAExtension CppExtension SyclExtension check_compiler_abi_compatibility
    check_compiler_is_gcc check_compiler_ok_for_platform get_compiler_abi_compatibility_and_version get_cxx_compiler
    get_default_build_root include_paths is_ninja_available library_paths load load_inline
    remove_extension_h_precompiler_headers verify_ninja_availability"""

globals().update({name: refused.stand_in("utils.cpp_extension", name) for name in NAMES.split()})

absent.answer(__name__)
