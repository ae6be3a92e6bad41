/* size_t and ptrdiff_t. */
#pragma once
#include <stdint.h>

#define NULL 0
#define offsetof(type, member) __builtin_offsetof(type, member)
