/* What the NVIDIA driver writes of a GPU, as its version 535 does. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "isolation/gpu.h"

#define UUID "GPU-5a3c1d52-9a6b-4c0e-8f7d-0123456789ab"
#define BEFORE "Model: \t\t NVIDIA H200\nIRQ:   \t\t 255\nGPU UUID: \t "
#define AFTER \
	"\nVideo BIOS: \t 96.00.89.00.01\nBus Type: \t PCIe\nDMA Size: \t 52 bits\nBus Location: \t 0000:18:00.0\n"

static void test_information(void **state)
{
	unsigned int minor = 99;

	(void)state;
	assert_true(gpu_information_is(BEFORE UUID AFTER "Device Minor: \t 3\nGPU Firmware: \t 535.129.03\n", UUID,
				       &minor));
	assert_int_equal(minor, 3);
	assert_true(gpu_information_is(BEFORE UUID AFTER "Device Minor: \t 0",
				       "GPU-5A3C1D52-9A6B-4C0E-8F7D-0123456789AB", &minor));
	assert_int_equal(minor, 0);
}

static void test_not_it(void **state)
{
	static const char *const texts[] = {
		"",
		BEFORE UUID AFTER,
		BEFORE UUID AFTER "Device Minor: \t \n",
		BEFORE UUID AFTER "Device Minor: \t 256\n",
		BEFORE UUID AFTER "Device Minor: \t -1\n",
		BEFORE UUID AFTER "Device Minor: \t 3/../../sda\n",
		BEFORE UUID "0" AFTER "Device Minor: \t 3\n",
		"Device Minor: \t 3\n",
		"GPU UUID: \t GPU-########-####-####-####-############\nDevice Minor: \t 3\n", /* not read yet */
	};
	unsigned int minor = 99;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_false(gpu_information_is(texts[i], UUID, &minor));
	assert_int_equal(minor, 99);
}

static void test_names(void **state)
{
	unsigned int minor = 99;
	struct error err;

	(void)state;
	assert_int_equal(gpu_minor_of("7", &minor, &err), 0);
	assert_int_equal(minor, 7);
	assert_int_equal(gpu_minor_of("256", &minor, &err), -EINVAL);
	assert_int_equal(gpu_minor_of("MIG-5a3c1d52-9a6b-4c0e-8f7d-0123456789ab", &minor, &err), -EOPNOTSUPP);
	assert_true(gpu_minor_of(UUID, &minor, &err) < 0); /* nobody's */
	assert_int_equal(minor, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_information),
		cmocka_unit_test(test_not_it),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
