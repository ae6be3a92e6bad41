/* The device side of CUDA is declared before the first line of every file; there is nothing to add. */
#pragma once
