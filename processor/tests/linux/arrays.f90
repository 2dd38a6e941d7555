! SPDX-License-Identifier: Apache-2.0 OR MIT
! Arrays, formatted output and intrinsic functions of Fortran.
program arrays
  implicit none
  integer, parameter :: n = 40
  real(8) :: a(n, n), x(n), b(n), pivot
  real(4) :: s
  integer :: i, j, k
  do j = 1, n
     do i = 1, n
        a(i, j) = 1d0 / (i + j - 1)
     end do
     a(j, j) = a(j, j) + 1
     b(j) = sin(real(j, 8))
  end do
  x = b
  do k = 1, n
     pivot = a(k, k)
     do i = k + 1, n
        x(i) = x(i) - a(i, k) / pivot * x(k)
        a(i, k + 1:) = a(i, k + 1:) - a(i, k) / pivot * a(k, k + 1:)
     end do
  end do
  do k = n, 1, -1
     x(k) = (x(k) - dot_product(a(k, k + 1:), x(k + 1:))) / a(k, k)
  end do
  write (*, '(a, es24.16)') 'sum ', sum(x)
  s = sum(real(x, 4) ** 2)
  print *, 'norm ', sqrt(s), maxval(x), minloc(x)
  if (abs(sum(x)) < 100) print '(a)', 'all done'
end program arrays
